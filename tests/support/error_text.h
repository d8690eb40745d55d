// tests/support/error_text.h – the whole text of the error that a call raises
#pragma once

#include <string>

#include "base/error.h"

namespace ricci::tests {

/// `what()` of the ricci::Error that `call` throws, or "no error".
template <class Call>
std::string error_text(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace ricci::tests
