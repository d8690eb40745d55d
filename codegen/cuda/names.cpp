// codegen/cuda/names.cpp – identifiers that do not meet
#include "codegen/cuda/names.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace ricci::codegen::cuda {

namespace {

/// Words of C++17 and of CUDA's, and macros of the headers that the tests' prelude includes.
constexpr std::string_view reserved[] = {"alignas",      "alignof",
                                         "and",          "and_eq",
                                         "asm",          "assert",
                                         "auto",         "bitand",
                                         "bitor",        "bool",
                                         "break",        "case",
                                         "catch",        "char",
                                         "class",        "compl",
                                         "const",        "constexpr",
                                         "const_cast",   "continue",
                                         "decltype",     "default",
                                         "delete",       "do",
                                         "double",       "dynamic_cast",
                                         "else",         "enum",
                                         "errno",        "explicit",
                                         "export",       "extern",
                                         "false",        "float",
                                         "for",          "friend",
                                         "goto",         "if",
                                         "inline",       "int",
                                         "long",         "mutable",
                                         "namespace",    "new",
                                         "noexcept",     "not",
                                         "not_eq",       "nullptr",
                                         "operator",     "or",
                                         "or_eq",        "private",
                                         "protected",    "public",
                                         "register",     "reinterpret_cast",
                                         "return",       "short",
                                         "signed",       "sizeof",
                                         "static",       "static_assert",
                                         "static_cast",  "stderr",
                                         "stdin",        "stdout",
                                         "struct",       "switch",
                                         "template",     "this",
                                         "thread_local", "throw",
                                         "true",         "try",
                                         "typedef",      "typeid",
                                         "typename",     "union",
                                         "unsigned",     "using",
                                         "virtual",      "void",
                                         "volatile",     "wchar_t",
                                         "while",        "xor",
                                         "xor_eq",       "EOF",
                                         "INFINITY",     "NAN",
                                         "NULL",         "HUGE_VAL",
                                         "linux",        "unix",
                                         "threadIdx",    "blockIdx",
                                         "blockDim",     "gridDim",
                                         "warpSize"};

bool is_reserved(std::string_view name) {
    // Names with `rc_` and `__` in them are the prelude's and the compiler's.
    return std::ranges::find(reserved, name) != std::end(reserved) || name.starts_with("rc_") ||
           name.starts_with("RC_") || name.starts_with("ricci_") || name.starts_with("M_") ||
           name.find("__") != std::string_view::npos;
}

}  // namespace

std::string identifier(std::string_view wanted) {
    std::string name(wanted);
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 || (c & 0x80) != 0) c = '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "n" + name;
    return name;
}

std::string Names::take(std::string_view wanted) {
    std::string base = identifier(wanted);
    for (std::size_t at = 0; (at = base.find("__", at)) != std::string::npos;) base.erase(at, 1);
    if (is_reserved(base)) base = "my_" + base;
    std::string name = base;
    for (int n = 2; taken_.contains(name); ++n)
        name = format("{}{}{}", base, base.ends_with('_') ? "" : "_", n);
    taken_.insert(name);
    return name;
}

}  // namespace ricci::codegen::cuda
