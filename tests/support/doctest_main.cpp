// tests/support/doctest_main.cpp – the entry point of every test binary
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
