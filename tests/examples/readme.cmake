# The program on the README's first screen is examples/linear.cpp without its first comment
file(READ ${ROOT}/examples/linear.cpp program)
file(READ ${ROOT}/README.md readme)
string(REGEX REPLACE "^//[^\n]*\n" "" program "${program}")
string(FIND "${readme}" "```cpp\n${program}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/linear.cpp")
endif()
