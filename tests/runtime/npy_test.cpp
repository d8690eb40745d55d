// tests/runtime/npy_test.cpp – .npy files: round trips, foreign layouts, hostile files
#include "runtime/npy.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/runtime/temporary_folder.h"
#include "tests/support/error_text.h"

namespace ricci {
namespace {

using tests::error_text;
using tests::read_bytes;
using tests::TemporaryFolder;
using tests::write_bytes;

/// A version 1.0 file with that dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data) {
    std::string file = "\x93NUMPY";
    file += {1, 0, static_cast<char>(dictionary.size()), 0};
    return file + dictionary + data;
}
std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& data) {
    return npy(
        "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n",
        data);
}

/// The error of loading `bytes` from a file `x.npy` with the folder cut off.
std::string load_error(const std::string& bytes) {
    const TemporaryFolder folder;
    write_bytes(folder / "x.npy", bytes);
    std::string text = error_text([&] { (void)load_npy(folder / "x.npy"); });
    const std::string prefix = folder.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
        text.erase(at, prefix.size());
    return text;
}

TEST_CASE("what is saved is loaded") {
    const TemporaryFolder folder;
    const Array a = Array::randn(DType::f32, {3, 5}, 1);
    save_npy(folder / "a.npy", a);
    const Array b = load_npy(folder / "a.npy");
    CHECK(b.dtype() == DType::f32);
    CHECK(b.shape() == Shape{3, 5});
    CHECK(str(a) == str(b));
    CHECK(folder.file_count() == 1);
}

TEST_CASE("half precision is saved as NumPy does, bf16 as ml_dtypes does") {
    const TemporaryFolder folder;
    const Array a = Array::from({1.0, -2.5, 65504.0}, {3});
    save_npy(folder / "a.npy", a.to(DType::f16));
    const std::string f16 = read_bytes(folder / "a.npy");
    CHECK(f16.find("'<f2'") != std::string::npos);
    CHECK(f16.substr(128) == std::string("\x00\x3c\x00\xc1\xff\x7b", 6));
    save_npy(folder / "b.npy", a.to(DType::bf16));
    const std::string bf16 = read_bytes(folder / "b.npy");
    CHECK(bf16.find("'<V2'") != std::string::npos);
    CHECK(bf16.substr(128) == std::string("\x80\x3f\x20\xc0\x80\x47", 6));
    for (const auto& [file, dtype] :
         {std::pair{"a.npy", DType::f16}, std::pair{"b.npy", DType::bf16}}) {
        const Array b = load_npy(folder / file);
        CHECK(b.dtype() == dtype);
        CHECK(b.at({1}) == -2.5);
    }
    CHECK(str(load_npy(folder / "a.npy")) == "[    1,  -2.5, 65504]");
}

TEST_CASE("a file is what NumPy writes") {
    const TemporaryFolder folder;
    save_npy(folder / "a.npy", Array::from<double>({1, 2}, {2}));
    const std::string bytes = read_bytes(folder / "a.npy");
    CHECK(bytes.size() == 128 + 16);
    CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\0\x76\0", 10));
    CHECK(bytes.substr(10, 58) == "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } ");
    CHECK(bytes[127] == '\n');
}

TEST_CASE("a scalar, an empty array and a view survive the round trip") {
    const TemporaryFolder folder;
    save_npy(folder / "s.npy", Array(2.5));
    CHECK(load_npy(folder / "s.npy").item() == 2.5);
    CHECK_FALSE(load_npy(folder / "s.npy").is_weak());
    save_npy(folder / "e.npy", Array::zeros(DType::i8, {0, 4}));
    CHECK(load_npy(folder / "e.npy").shape() == Shape{0, 4});
    save_npy(folder / "t.npy", Array::arange(DType::i32, {2, 3}).transpose({1, 0}));
    CHECK(load_npy(folder / "t.npy").at({2, 1}) == 5);
}

TEST_CASE("Fortran order is read as a transposed view") {
    const TemporaryFolder folder;
    write_bytes(folder / "f.npy", npy("|u1", "True", "(2, 3)", "\1\2\3\4\5\6"));
    const Array a = load_npy(folder / "f.npy");
    CHECK(a.shape() == Shape{2, 3});
    CHECK(a.strides() == Strides{1, 2});
    CHECK(a.at({1, 0}) == 2);
}

TEST_CASE("big-endian numbers are converted") {
    const TemporaryFolder folder;
    write_bytes(folder / "b.npy", npy(">i2", "False", "(2,)", std::string("\1\2\0\3", 4)));
    const Array a = load_npy(folder / "b.npy");
    CHECK(a.at({0}) == 0x102);
    CHECK(a.at({1}) == 3);
}

TEST_CASE("version 2 has a header length of four bytes") {
    const TemporaryFolder folder;
    const std::string dictionary = "{'shape': (1,), 'descr': '|b1', 'fortran_order': False}";
    std::string file = "\x93NUMPY";
    file += {2, 0, static_cast<char>(dictionary.size()), 0, 0, 0};
    write_bytes(folder / "v.npy", file + dictionary + "\x07");
    const Array a = load_npy(folder / "v.npy");
    CHECK(a.dtype() == DType::boolean);
    CHECK(*static_cast<const char*>(a.data()) == 1);
}

TEST_CASE("a missing file and a folder are io errors") {
    CHECK(error_text([] { (void)load_npy("no/such.npy"); }) ==
          "io: cannot read `no/such.npy`: No such file or directory");
    CHECK(error_text([] { (void)load_npy("/"); }) ==
          "io: cannot read `/`: it is not a regular file");
}

TEST_CASE("objects, pickles, archives and records are refused by name") {
    CHECK(load_error(npy("|O", "False", "(1,)", "x")) ==
          "io: `x.npy` holds Python objects (`|O`), which are never loaded\n"
          "  = hint: save numbers: numpy.save(file, array.astype('f4'))");
    CHECK(load_error("\x80\x04\x95 more") ==
          "io: `x.npy` is a Python pickle, which is never loaded");
    CHECK(load_error("PK\x03\x04 more more") ==
          "io: `x.npy` is a .npz archive, which is not loaded yet\n"
          "  = hint: save the array with numpy.save");
    CHECK(load_error(
              npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234")) ==
          "io: `x.npy` has records of several fields, which are not loaded\n"
          "  = hint: save each field as an array of its own");
}

TEST_CASE("a size that differs from the file's is found before memory is taken") {
    CHECK(load_error(npy("<f8", "False", "(4294967296,)", "")) ==
          "io: `x.npy` has 77 bytes, its header and [4294967296] elements of f64 need 34359738445");
    CHECK(load_error(npy("<f4", "False", "(1,)", "12345")).starts_with("io: `x.npy` has 73 bytes"));
    CHECK(load_error(npy("<f4", "False", "(281474976710656, 281474976710656)", ""))
              .starts_with("io: `x.npy` has an array [281474976710656, 281474976710656]: "));
}

TEST_CASE("malformed headers are errors") {
    CHECK(load_error("hello") ==
          "io: `x.npy` is not a .npy file: it begins with `68 65 6c 6c 6f`, not with `93 4e 55 4d "
          "50 59`");
    CHECK(load_error("\x93NUMPY\x09") ==
          "io: `x.npy` has .npy version 9.0, versions 1 to 3 are known");
    CHECK(load_error(npy("<f4", "False", "(2,)", "").substr(0, 40)) ==
          "io: `x.npy` ends within its header: it has 40 bytes of 68");
    CHECK(load_error(npy("<f4", "Maybe", "(2,)", "")) ==
          "io: `x.npy` is not a .npy file: its header has a `fortran_order` that is neither True "
          "nor False");
    CHECK(load_error(npy("<f4", "False", "(-2,)", "")) ==
          "io: `x.npy` is not a .npy file: its header has a `shape` that is not of extents");
    CHECK(load_error(npy("{'descr': '<f4', 'descr': '<f4'}", "")) ==
          "io: `x.npy` is not a .npy file: its header has `descr` twice");
    CHECK(load_error(npy("<f3", "False", "(2,)", "")) ==
          "io: `x.npy` has elements of type `<f3`, which is not known\n"
          "  = hint: save numbers: numpy.save(file, array.astype('f4'))");
    std::string large = "\x93NUMPY";
    large += {2, 0, 0, 0, 0, 16};
    CHECK(load_error(large) == "io: `x.npy` has a header of 268435456 bytes, the limit is 65536");
}

TEST_CASE("every truncation of a file is an error") {
    const std::string whole = npy("<f4", "False", "(2,)", "12345678");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK(load_error(whole.substr(0, length)).starts_with("io: `x.npy`"));
    }
}

TEST_CASE("a failed save leaves what was there and nothing else") {
    const TemporaryFolder folder;
    write_bytes(folder / "a.npy", "old");
    {
        runtime::StagedFile file(folder / "a.npy");
        runtime::write_npy(file, Array(1.0));
    }
    CHECK(read_bytes(folder / "a.npy") == "old");
    CHECK(folder.file_count() == 1);
    CHECK(error_text([&] { save_npy("no/folder/a.npy", Array(1.0)); }) ==
          "io: cannot write `no/folder/a.npy`: No such file or directory");
    CHECK(error_text([] { save_npy("/dev/null", Array(1.0)); }) ==
          "io: cannot write `/dev/null`: it is not a regular file");
}

TEST_CASE("a save through a symbolic link replaces the file, not the link") {
    const TemporaryFolder folder;
    save_npy(folder / "a.npy", Array(1.0));
    std::filesystem::create_symlink(folder / "a.npy", folder / "link.npy");
    save_npy(folder / "link.npy", Array(2.0));
    CHECK(std::filesystem::is_symlink(folder / "link.npy"));
    CHECK(load_npy(folder / "a.npy").item() == 2.0);
}

}  // namespace
}  // namespace ricci
