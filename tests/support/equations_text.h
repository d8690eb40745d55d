// tests/support/equations_text.h – a program equation by equation, temporaries included
#pragma once

#include <string>

#include "dsl/program.h"

namespace ricci::tests {

inline std::string equations_text(const Program& program) {
    std::string text;
    for (const Equation& equation : program.equations) text += str(program, equation) + "\n";
    return text;
}

}  // namespace ricci::tests
