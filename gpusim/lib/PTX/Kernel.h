// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable form of a kernel. Every instruction is a function pointer with
// operand offsets into the register file of a warp. A register is an array
// over the 32 lanes (4-byte containers up to 32 bits, 8-byte ones for 64), a
// predicate register one 32-bit mask. Constants and special registers are
// ordinary registers filled before the warp starts.
#ifndef GPUSIM_PTX_KERNEL_H
#define GPUSIM_PTX_KERNEL_H

#include "Memory.h"
#include "Syntax.h"

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpusim {

struct Warp;
struct Inst;
using Handler = void (*)(Warp &, const Inst &);

/// What an instruction counts as.
enum class Class : uint8_t {
  None, ///< labels: not counted
  Fp32,
  Half, ///< f16, bf16 and their packed forms
  Fp64,
  Int,
  Convert,
  Special, ///< ex2, sin, rcp, sqrt, div and the like
  Move,    ///< moves, selects, comparisons, predicates
  LoadGlobal,
  StoreGlobal,
  LoadShared,
  StoreShared,
  LoadOther, ///< param, const, local
  StoreOther,
  Atomic,
  AsyncCopy,
  Matrix,  ///< ldmatrix, stmatrix, movmatrix
  Tensor,  ///< mma
  Shuffle, ///< shuffles, votes, matches, redux
  Barrier,
  Control,
  Count
};
const char *className(Class c);

/// Units that floating-point operations are counted by.
enum class Unit : uint8_t {
  None,
  Fp32,
  Fp16,
  Bf16,
  Fp64,
  TensorF16,
  TensorBf16,
  TensorTf32,
  TensorF64,
  TensorInt,
  TensorFp8,
  Count
};
const char *unitName(Unit u);

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

struct Inst {
  Handler fn = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0; ///< byte offsets, or predicate numbers
  int64_t imm = 0;                     ///< address offset or handler's own
  uint32_t target = 0;                 ///< instruction or operand-table index
  uint16_t pred = 0;                   ///< guard; 0 is always true
  uint8_t size = 0, vec = 1;           ///< element bytes and count of a memory op
  uint32_t predXor = 0;                ///< all ones for a negated guard
  uint32_t line = 0;
  uint32_t flops = 0; ///< per lane; for Tensor per warp
  Class cls = Class::None;
  Unit unit = Unit::None;
  Space space = Space::Generic;
  uint8_t flags = 0;
};

/// Address windows of the generic address space that no host pointer can hit.
constexpr uint64_t sharedWindow = 1ull << 56;
constexpr uint64_t localWindow = 2ull << 56;
constexpr uint64_t paramWindow = 3ull << 56;
constexpr uint64_t windowMask = 0xffull << 56;

struct SharedVariable {
  std::string name;
  uint32_t offset, size;
};

struct Constant {
  uint32_t offset; ///< in the register file
  bool wide;
  uint64_t value;
};

/// Special registers that a kernel reads, with their place in the file.
struct SpecialUse {
  std::string name;
  uint32_t offset;
};

struct Kernel {
  std::string name;
  std::vector<Inst> code;
  std::vector<std::string> text; ///< opcode of each instruction, for reports
  std::vector<uint32_t> operandTable;
  std::vector<Constant> constants;
  std::vector<SpecialUse> specials;
  uint32_t fileBytes = 0; ///< size of the register file
  uint32_t numPreds = 1;  ///< predicate 0 is constant true
  uint32_t constantStart = 0;
  uint32_t paramBytes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> params; ///< offset, size
  std::vector<SharedVariable> shared;
  uint32_t staticShared = 0; ///< including gaps
  uint32_t declaredShared = 0;
  uint32_t dynamicAlign = 0; ///< 0: no dynamic shared memory declared
  uint32_t localBytes = 0;
  uint32_t granuleShift = 4; ///< log2 of the finest access to shared memory
  bool partialBarriers = false;
  unsigned maxThreads[3] = {0, 0, 0}, reqThreads[3] = {0, 0, 0};
  unsigned minBlocksPerSM = 0, maxRegisters = 0;
  unsigned estimatedRegisters = 0; ///< largest number of live 32-bit values
};

struct Module {
  std::string target, version;
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
  std::map<std::string, AllocationRef> globals;
  std::string source;
  ~Module();
};

/// Parses and decodes; allocates the module's variables on `device`.
/// Throws PTXError.
std::unique_ptr<Module> loadModule(const std::string &ptx, int device);

} // namespace gpusim

#endif // GPUSIM_PTX_KERNEL_H
