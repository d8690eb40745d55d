// tests/install/subproject/consumer.cpp – a program that uses a room of Ricci's sources
#include <iostream>

#include "base/shape.h"

int main() { std::cout << ricci::element_count({8, 32}) << '\n'; }
