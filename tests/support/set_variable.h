// tests/support/set_variable.h – an environment variable for the length of a scope
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ricci::tests {

/// Sets the variable; the destructor restores what was there before.
class SetVariable {
  public:
    SetVariable(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* old = std::getenv(name_.c_str())) old_ = old;
        setenv(name_.c_str(), value.c_str(), 1);
    }
    ~SetVariable() {
        if (old_) {
            setenv(name_.c_str(), old_->c_str(), 1);
        } else {
            unsetenv(name_.c_str());
        }
    }
    SetVariable(const SetVariable&) = delete;
    SetVariable& operator=(const SetVariable&) = delete;

  private:
    std::string name_;
    std::optional<std::string> old_;
};

}  // namespace ricci::tests
