// examples/mnist_data.cpp – images of digits: MNIST from IDX files, or drawn by the program
#include "examples/mnist_data.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include <zlib.h>

#include "base/env.h"
#include "base/text.h"

namespace mnist {
namespace {

using ricci::Array;
using ricci::DType;
using ricci::Error;
using ricci::ErrorKind;
using ricci::format;

constexpr std::int64_t pixels = 784;

[[noreturn]] void bad_file(const std::string& path, const std::string& what) {
    throw Error({.kind = ErrorKind::io,
                 .message = format("`{}` {}", path, what),
                 .source = nullptr,
                 .labels = {},
                 .hint = "MNIST comes as four files in the IDX format, gzipped"});
}

/// The bytes of an IDX file with the given extents (LeCun, "The MNIST database": big-endian magic
/// number 0x800 + rank, extents, bytes). An extent of -1 is read from the file.
std::vector<unsigned char> read_idx(const std::string& path, std::vector<std::int64_t>& extents) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    if (!file) bad_file(path, "cannot be opened");
    const auto read_word = [&] {
        std::array<unsigned char, 4> b{};
        if (gzread(file.get(), b.data(), 4) != 4) bad_file(path, "ends inside its header");
        return std::int64_t{b[0]} << 24 | std::int64_t{b[1]} << 16 | std::int64_t{b[2]} << 8 | b[3];
    };
    const std::int64_t magic = read_word();
    const auto wanted = static_cast<std::int64_t>(0x800 + extents.size());
    if (magic != wanted) bad_file(path, format("has the magic number {}, not {}", magic, wanted));
    std::int64_t count = 1;
    for (std::int64_t& extent : extents) {
        const std::int64_t found = read_word();
        if (extent >= 0 && found != extent)
            bad_file(path, format("has the extent {}, not {}", found, extent));
        extent = found;
        count *= extent;
        if (count > 1'000'000'000) bad_file(path, "declares more than 10^9 bytes");
    }
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
    const int read = gzread(file.get(), bytes.data(), static_cast<unsigned>(count));
    if (read != count)
        bad_file(path, format("has {} bytes of data, not {}", std::max(read, 0), count));
    return bytes;
}

Set read_set(const std::filesystem::path& directory, const std::string& prefix) {
    std::vector<std::int64_t> image_extents{-1, 28, 28};
    const auto images =
        read_idx((directory / (prefix + "-images-idx3-ubyte.gz")).string(), image_extents);
    std::vector<std::int64_t> label_extents{image_extents[0]};
    const auto labels =
        read_idx((directory / (prefix + "-labels-idx1-ubyte.gz")).string(), label_extents);
    Set set{Array(DType::f32, {image_extents[0], pixels}), Array(DType::f32, {image_extents[0]})};
    const auto values = set.images.span<float>();
    for (std::size_t n = 0; n < images.size(); ++n) values[n] = static_cast<float>(images[n]) / 255;
    const auto digits = set.labels.span<float>();
    for (std::size_t n = 0; n < labels.size(); ++n) {
        if (labels[n] > 9) bad_file((directory / prefix).string(), "has a label above 9");
        digits[n] = labels[n];
    }
    return set;
}

bool has_files(const std::filesystem::path& directory) {
    std::error_code ignored;
    return std::filesystem::exists(directory / "train-images-idx3-ubyte.gz", ignored);
}

/// Strokes of the ten digits on a grid of 3 x 5 points, as a pen would draw them.
struct Stroke {
    float x0, y0, x1, y1;
};
const std::vector<std::vector<Stroke>>& digit_strokes() {
    static const std::vector<std::vector<Stroke>> strokes{
        {{0, 0, 2, 0}, {2, 0, 2, 4}, {2, 4, 0, 4}, {0, 4, 0, 0}},
        {{0, 1, 1, 0}, {1, 0, 1, 4}},
        {{0, 0, 2, 0}, {2, 0, 2, 2}, {2, 2, 0, 4}, {0, 4, 2, 4}},
        {{0, 0, 2, 0}, {2, 0, 1, 2}, {1, 2, 2, 3}, {2, 3, 1, 4}, {1, 4, 0, 4}},
        {{1, 0, 0, 3}, {0, 3, 2, 3}, {2, 1, 2, 4}},
        {{2, 0, 0, 0}, {0, 0, 0, 2}, {0, 2, 2, 2}, {2, 2, 2, 4}, {2, 4, 0, 4}},
        {{2, 0, 0, 2}, {0, 2, 0, 4}, {0, 4, 2, 4}, {2, 4, 2, 2}, {2, 2, 0, 2}},
        {{0, 0, 2, 0}, {2, 0, 1, 4}},
        {{0, 0, 2, 0}, {2, 0, 2, 4}, {2, 4, 0, 4}, {0, 4, 0, 0}, {0, 2, 2, 2}},
        {{2, 2, 0, 2}, {0, 2, 0, 0}, {0, 0, 2, 0}, {2, 0, 2, 4}},
    };
    return strokes;
}

/// Adds ink along a stroke: a soft pen of the given radius, in pixels.
void draw(std::span<float> image, Stroke s, float radius) {
    const float dx = s.x1 - s.x0;
    const float dy = s.y1 - s.y0;
    const float length2 = std::max(dx * dx + dy * dy, 1e-6F);
    for (int y = 0; y < 28; ++y)
        for (int x = 0; x < 28; ++x) {
            const float px = static_cast<float>(x) - s.x0;
            const float py = static_cast<float>(y) - s.y0;
            const float along = std::clamp((px * dx + py * dy) / length2, 0.0F, 1.0F);
            const float away = std::hypot(px - along * dx, py - along * dy);
            float& pixel = image[static_cast<std::size_t>(28 * y + x)];
            pixel = std::max(pixel, std::clamp(radius + 0.5F - away, 0.0F, 1.0F));
        }
}

/// Digits drawn with random size, slant, place and pen, and some noise.
Set draw_set(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](float low, float high) {
        return low + (high - low) * static_cast<float>(random() >> 8) / 16777216.0F;
    };
    Set set{Array::zeros(DType::f32, {count, pixels}), Array(DType::f32, {count})};
    const auto images = set.images.span<float>();
    const auto labels = set.labels.span<float>();
    for (std::int64_t n = 0; n < count; ++n) {
        const std::size_t digit = random() % 10;
        labels[static_cast<std::size_t>(n)] = static_cast<float>(digit);
        const auto image = images.subspan(static_cast<std::size_t>(n * pixels), pixels);
        const float sx = uniform(3.5F, 6), sy = uniform(3.2F, 5), slant = uniform(-0.25F, 0.25F);
        const float x0 = uniform(6, 11), y0 = uniform(3, 7), radius = uniform(0.7F, 1.8F);
        const auto place_x = [&](float x, float y) { return x0 + sx * x + slant * (8 - sy * y); };
        for (const Stroke& s : digit_strokes()[digit])
            draw(
                image,
                {place_x(s.x0, s.y0) + uniform(-0.7F, 0.7F), y0 + sy * s.y0 + uniform(-0.7F, 0.7F),
                 place_x(s.x1, s.y1) + uniform(-0.7F, 0.7F), y0 + sy * s.y1 + uniform(-0.7F, 0.7F)},
                radius);
        for (float& pixel : image) pixel = std::clamp(pixel + uniform(-0.1F, 0.1F), 0.0F, 1.0F);
    }
    return set;
}

Data read_directory(const std::filesystem::path& directory) {
    return {read_set(directory, "train"), read_set(directory, "t10k"),
            format("MNIST from {}", directory.string())};
}

}  // namespace

Data load(const std::string& directory) {
    if (!directory.empty()) {
        const std::filesystem::path given(directory);
        return read_directory(has_files(given / "mnist") ? given / "mnist" : given);
    }
    for (const std::filesystem::path root :
         {ricci::env::data_directory().value_or(std::string()), std::string("data")})
        for (const std::filesystem::path& place : {root / "mnist", root})
            if (!root.empty() && has_files(place)) return read_directory(place);
    return {draw_set(20000, 1), draw_set(4000, 2),
            "digits drawn by this program (no MNIST files in --data, $RICCI_DATA or data/)"};
}

}  // namespace mnist
