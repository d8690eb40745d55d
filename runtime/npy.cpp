// runtime/npy.cpp – reading and writing NumPy's .npy files; the files are not trusted
#include "runtime/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace ricci {
namespace {

static_assert(std::endian::native == std::endian::little, "a .npy file is written little-endian");

// Source: NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays".
constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header_bytes = 64 << 10;

struct TypeName {
    DType dtype;
    std::string_view code;  ///< without the mark of the byte order
};
// clang-format off
constexpr std::array type_names = {
    TypeName{DType::boolean, "b1"}, TypeName{DType::i8, "i1"},   TypeName{DType::i16, "i2"},
    TypeName{DType::i32, "i4"},     TypeName{DType::i64, "i8"},  TypeName{DType::u8, "u1"},
    TypeName{DType::u16, "u2"},     TypeName{DType::u32, "u4"},  TypeName{DType::u64, "u8"},
    TypeName{DType::f16, "f2"},     TypeName{DType::f32, "f4"},  TypeName{DType::f64, "f8"},
    TypeName{DType::c64, "c8"},     TypeName{DType::c128, "c16"},
    // NumPy has no bf16: ml_dtypes saves its bits as two bytes of no type, and views them again.
    TypeName{DType::bf16, "V2"}};
// clang-format on

[[noreturn]] void fail(std::string message, std::string hint = {}) {
    throw Error({.kind = ErrorKind::io, .message = std::move(message), .hint = std::move(hint)});
}

/// An open file to read from.
class InputFile {
  public:
    explicit InputFile(const std::string& path) : path_(path) {
        // Without O_NONBLOCK opening a named pipe would wait for a writer.
        descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (descriptor_ < 0) fail_with(errno);
        struct stat status{};
        const bool is_known = fstat(descriptor_, &status) == 0;
        const int code = errno;
        if (!is_known || !S_ISREG(status.st_mode)) {
            close(descriptor_);
            if (!is_known) fail_with(code);
            fail(format("cannot read `{}`: it is not a regular file", path));
        }
        size_bytes_ = static_cast<std::uint64_t>(status.st_size);
    }
    ~InputFile() { close(descriptor_); }
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    /// Reads up to `count` bytes; fewer only at the end of the file.
    std::size_t read(void* to, std::size_t count) const {
        std::size_t done = 0;
        while (done < count) {
            const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, count - done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail_with(errno);
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

  private:
    [[noreturn]] void fail_with(int code) const {
        fail(format("cannot read `{}`: {}", path_, std::generic_category().message(code)));
    }

    const std::string& path_;
    int descriptor_ = -1;
    std::uint64_t size_bytes_ = 0;
};

struct Header {
    std::string descr;
    bool is_fortran = false;
    Shape shape;
    std::size_t size_bytes = 0;  ///< of everything before the data
};

/// Reads the header's Python dictionary, of which only this form is legal:
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class HeaderParser {
  public:
    HeaderParser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

    Header parse() {
        Header header;
        std::vector<std::string> seen;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            if (std::ranges::find(seen, key) != seen.end()) malformed(format("`{}` twice", key));
            expect(':');
            if (key == "descr")
                header.descr = descr();
            else if (key == "fortran_order")
                header.is_fortran = boolean();
            else if (key == "shape")
                header.shape = shape();
            else
                malformed(format("an unknown key `{}`", key));
            seen.push_back(key);
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_blanks();
        if (at_ != text_.size()) malformed("more after its dictionary");
        if (seen.size() != 3) malformed("not all of `descr`, `fortran_order` and `shape`");
        return header;
    }

  private:
    [[noreturn]] void malformed(std::string_view what) const {
        fail(format("`{}` is not a .npy file: its header has {}", path_, what));
    }
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool accept(char c) {
        skip_blanks();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) malformed(format("no `{}` where one is expected, at byte {}", c, at_));
    }
    std::string quoted() {
        skip_blanks();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        const std::size_t end =
            quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
        if (end == std::string_view::npos) malformed(format("no name in quotes at byte {}", at_));
        std::string word(text_.substr(at_ + 1, end - at_ - 1));
        const auto is_plain = [](char c) { return c > ' ' && c < '\x7f'; };
        if (!std::ranges::all_of(word, is_plain)) malformed("a name with control characters");
        at_ = end + 1;
        return word;
    }
    std::string descr() {
        if (accept('[')) {
            fail(format("`{}` has records of several fields, which are not loaded", path_),
                 "save each field as an array of its own");
        }
        return quoted();
    }
    bool boolean() {
        skip_blanks();
        for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
            if (text_.substr(at_).starts_with(word)) {
                at_ += std::string_view(word).size();
                return value;
            }
        }
        malformed("a `fortran_order` that is neither True nor False");
    }
    Shape shape() {
        Shape extents;
        expect('(');
        while (!accept(')')) {
            skip_blanks();
            std::int64_t extent = 0;
            const char* begin = text_.data() + at_;
            const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), extent);
            if (code != std::errc() || extent < 0) malformed("a `shape` that is not of extents");
            at_ += static_cast<std::size_t>(end - begin);
            extents.push_back(extent);
            if (extents.size() > max_rank) {
                fail(format("`{}` has an array of more than {} dimensions", path_, max_rank));
            }
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return extents;
    }

    const std::string& path_;
    std::string_view text_;
    std::size_t at_ = 0;
};

[[noreturn]] void fail_magic(const std::string& path, std::string_view start) {
    if (start.starts_with("PK\x03\x04")) {
        fail(format("`{}` is a .npz archive, which is not loaded yet", path),
             "save the array with numpy.save");
    }
    if (start.starts_with('\x80'))
        fail(format("`{}` is a Python pickle, which is never loaded", path));
    std::vector<std::string> bytes;
    for (const char c : start.substr(0, magic.size()))
        bytes.push_back(format("{:02x}", static_cast<unsigned char>(c)));
    fail(format("`{}` is not a .npy file: it begins with `{}`, not with `93 4e 55 4d 50 59`", path,
                join(bytes, " ")));
}

Header read_header(const std::string& path, const InputFile& file) {
    std::array<unsigned char, 12> start{};
    const std::size_t got = file.read(start.data(), 10);
    const std::string_view text(reinterpret_cast<const char*>(start.data()), got);
    if (!text.starts_with(magic)) fail_magic(path, text);
    const unsigned version = start[6];
    if (version < 1 || version > 3) {
        fail(format("`{}` has .npy version {}.{}, versions 1 to 3 are known", path, version,
                    unsigned{start[7]}));
    }
    std::size_t prefix = 10;
    std::size_t length = start[8] | std::size_t{start[9]} << 8;
    if (version > 1) {
        prefix += file.read(start.data() + 10, 2);
        length |= std::size_t{start[10]} << 16 | std::size_t{start[11]} << 24;
    }
    if (length > max_header_bytes) {
        fail(format("`{}` has a header of {} bytes, the limit is {}", path, length,
                    max_header_bytes));
    }
    std::string dictionary(length, '\0');
    if (prefix + length > file.size_bytes() || file.read(dictionary.data(), length) != length) {
        fail(format("`{}` ends within its header: it has {} bytes of {}", path, file.size_bytes(),
                    prefix + length));
    }
    Header header = HeaderParser(path, dictionary).parse();
    header.size_bytes = prefix + length;
    return header;
}

struct FileType {
    DType dtype = DType::none;
    bool is_big_endian = false;
};

FileType type_of(const std::string& path, std::string_view descr) {
    if (descr.substr(0, 2) == "|O" || descr == "O") {
        fail(format("`{}` holds Python objects (`{}`), which are never loaded", path, descr),
             "save numbers: numpy.save(file, array.astype('f4'))");
    }
    const char order = descr.empty() ? '\0' : descr.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') {
        for (const TypeName& type : type_names) {
            if (type.code == descr.substr(1))
                return {type.dtype, order == '>' && size_bytes(type.dtype) > 1};
        }
    }
    fail(format("`{}` has elements of type `{}`, which is not known", path, descr),
         "save numbers: numpy.save(file, array.astype('f4'))");
}

void swap_bytes(std::span<std::byte> bytes, std::size_t word_bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += word_bytes)
        std::ranges::reverse(bytes.subspan(at, word_bytes));
}

}  // namespace

Array load_npy(const std::string& path) {
    const InputFile file(path);
    const Header header = read_header(path, file);
    const FileType type = type_of(path, header.descr);
    const std::size_t element_bytes = size_bytes(type.dtype);
    std::int64_t count = 0;
    try {
        count = element_count(header.shape);
    } catch (const Error& error) {
        fail(
            format("`{}` has an array {}: {}", path, str(header.shape), error.diagnosis().message));
    }
    // Both at most 2^52: no overflow, and nothing is allocated that the file does not hold.
    const std::uint64_t data_bytes = static_cast<std::uint64_t>(count) * element_bytes;
    if (header.size_bytes + data_bytes != file.size_bytes()) {
        fail(format("`{}` has {} bytes, its header and {} elements of {} need {}", path,
                    file.size_bytes(), str(header.shape), name(type.dtype),
                    header.size_bytes + data_bytes));
    }
    Shape stored = header.shape;
    if (header.is_fortran) std::ranges::reverse(stored);
    Array array(type.dtype, stored);
    const std::span bytes(static_cast<std::byte*>(array.data()), data_bytes);
    const std::size_t got = file.read(bytes.data(), data_bytes);
    if (got != data_bytes) {
        fail(format("`{}` became shorter while it was read: {} bytes of data of {}", path, got,
                    data_bytes));
    }
    if (type.is_big_endian) swap_bytes(bytes, element_bytes / (is_complex(type.dtype) ? 2 : 1));
    if (type.dtype == DType::boolean)  // any byte may stand in a file; a bool is 0 or 1
        for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
    if (!header.is_fortran) return array;
    std::vector<int> order;
    for (int d = array.rank(); d-- > 0;) order.push_back(d);
    return array.transpose(order);
}

void save_npy(const std::string& path, const Array& array) {
    runtime::StagedFile file(path);
    runtime::write_npy(file, array);
    file.commit();
}

namespace runtime {

std::string_view npy_descr(DType dtype) noexcept {
    switch (dtype) {
        case DType::boolean: return "|b1";
        case DType::i8:      return "|i1";
        case DType::u8:      return "|u1";
        case DType::i16:     return "<i2";
        case DType::i32:     return "<i4";
        case DType::i64:     return "<i8";
        case DType::u16:     return "<u2";
        case DType::u32:     return "<u4";
        case DType::u64:     return "<u8";
        case DType::f16:     return "<f2";
        case DType::f32:     return "<f4";
        case DType::f64:     return "<f8";
        case DType::c64:     return "<c8";
        case DType::c128:    return "<c16";
        case DType::bf16:    return "<V2";
        case DType::none:    break;
    }
    return {};
}

void write_npy(StagedFile& file, const Array& array) {
    const std::string_view descr = npy_descr(array.dtype());
    if (descr.empty()) {
        throw Error({.kind = ErrorKind::type,
                     .message = format("the .npy format has no type {}", name(array.dtype())),
                     .hint = "convert to f32"});
    }
    std::string header = format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                descr, join(array.shape(), ", "), array.rank() == 1 ? "," : "");
    // Padded so that the data begins at a multiple of 64 bytes; a newline ends it.
    constexpr std::size_t prefix = 10;
    header.resize((prefix + header.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
    header += '\n';
    std::string start(magic);
    start += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    start += header;
    file.write(std::as_bytes(std::span(start)));
    const Array whole = array.contiguous();
    file.write({static_cast<const std::byte*>(whole.data()),
                static_cast<std::size_t>(whole.size()) * size_bytes(whole.dtype())});
}

}  // namespace runtime
}  // namespace ricci
