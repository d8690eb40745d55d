// base/target.cpp – the machine that code is generated for
#include "base/target.h"

#include "base/text.h"

namespace ricci {

std::string str(const Target& target) {
    return format("{} {}-bit{}{}", target.cpu.empty() ? "generic" : target.cpu,
                  8 * target.vector_bytes, target.has_fma ? " fma" : "",
                  target.has_bf16_dot ? " bf16-dot" : "");
}

}  // namespace ricci
