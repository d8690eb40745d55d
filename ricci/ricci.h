// ricci/ricci.h – everything a program that uses Ricci includes
#pragma once

#include "base/error.h"
#include "dsl/builder.h"
#include "dsl/scalar_function.h"
#include "runtime/array.h"
#include "runtime/compare.h"
#include "runtime/einsum.h"
#include "runtime/function.h"
#include "runtime/jacobian.h"
#include "runtime/parallel.h"
#include "runtime/tape.h"
#include "runtime/timer.h"
