// tests/codegen_cpu/page.h – memory whose neighbours nobody may touch
#pragma once

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace ricci::tests {

/// A page of numbers between two that nobody may touch.
template <class T>
class Page {
  public:
    Page() : bytes_(std::size_t(sysconf(_SC_PAGESIZE))) {
        void* pages = mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        RICCI_ASSERT(pages != MAP_FAILED, "three pages");
        begin_ = static_cast<char*>(pages);
        mprotect(begin_ + bytes_, bytes_, PROT_READ | PROT_WRITE);
    }
    ~Page() { munmap(begin_, 3 * bytes_); }
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    /// The first elements of the page, or the last.
    [[nodiscard]] T* place(std::size_t count, bool at_end) const {
        char* const page = begin_ + bytes_;
        return reinterpret_cast<T*>(at_end ? page + bytes_ - count * sizeof(T) : page);
    }

  private:
    std::size_t bytes_;
    char* begin_ = nullptr;
};

}  // namespace ricci::tests
