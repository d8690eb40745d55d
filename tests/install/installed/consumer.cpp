// tests/install/installed/consumer.cpp – a program that uses an installed Ricci
#include <iostream>

#include <ricci/ricci.h>

#include "dsl/program.h"

int main() {
    const ricci::Function linear = ricci::compile("Y[n,o] := W[o,k]*X[n,k] + b[o]");
    std::cout << ricci::str(linear.grad("W")) << '\n';
}
