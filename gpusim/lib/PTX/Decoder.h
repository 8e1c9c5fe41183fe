// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns statements into instructions. Each family of opcodes has one file with
// its handlers and a `decode...` function; the decoder resolves names, checks
// widths, and refuses every modifier that nobody consumed.
#ifndef GPUSIM_PTX_DECODER_H
#define GPUSIM_PTX_DECODER_H

#include "Kernel.h"

#include <set>

namespace gpusim {

/// The modifiers of one opcode; what is left over at the end is an error.
class Mods {
public:
  Mods(const Stmt &s) : stmt(s), left(s.mods) {}
  bool take(const char *name);
  bool has(const char *name) const;
  /// Takes the last type among the modifiers; fails if there is none.
  std::string type();
  bool hasType() const;
  /// Takes whichever of the names is there; "" if none.
  std::string oneOf(std::initializer_list<const char *> names);
  void ignore(std::initializer_list<const char *> names);
  /// Cache and ordering hints of memory operations, which change no result.
  void ignoreHints();
  void done() const;
  [[noreturn]] void unsupported() const;

private:
  const Stmt &stmt;
  std::vector<std::string> left;
};

/// A variable as seen from a function body.
struct Place {
  Space space;
  uint64_t address;
  uint64_t size;
};

/// One operand of one instruction, for the estimate of registers.
struct RegisterUse {
  uint32_t inst, reg;
  bool isDst;
  uint8_t words;
};
/// Largest number of 32-bit values alive at once.
unsigned estimateRegisters(const Kernel &k, const std::vector<RegisterUse> &uses);

class Decoder {
public:
  Decoder(const ModuleSyntax &syntax, Module &module);
  std::unique_ptr<Kernel> kernel(const Function &f);

  // For the opcode families.
  uint32_t src(const Operand &o, unsigned bits);
  uint32_t dst(const Operand &o, unsigned bits);
  /// Register of any width at least `bits`; sets `regBits`.
  uint32_t anyReg(const Operand &o, unsigned bits, unsigned &regBits, bool isDst);
  uint16_t predSrc(const Operand &o, bool allowNegated = false);
  uint16_t predDst(const Operand &o);
  uint16_t predByName(const std::string &name, bool isDst);
  uint32_t constant(uint64_t value, bool wide);
  uint32_t scratch(bool wide);
  uint64_t immediate(const Operand &o);
  uint32_t table(const std::vector<uint32_t> &operands);
  /// Resolves `[base+offset]`: either a register base or a known address.
  struct Address {
    bool isStatic = false;
    Space space = Space::Generic;
    uint32_t reg = 0;
    unsigned regBits = 64;
    int64_t offset = 0;
  };
  Address address(const Operand &o);
  bool findPlace(const std::string &name, Place &place);
  void count(const Stmt &s, size_t n) const;
  [[noreturn]] void fail(const std::string &message) const;
  Inst &emit(Handler fn, Class cls);
  void branchTo(Inst &i, const std::string &label);
  const Stmt &stmt() const { return *current; }
  Kernel &out() { return *result; }
  /// Notes an access of `bytes` that may go to shared memory.
  void sharedWidth(unsigned bytes);

private:
  struct Reg {
    uint32_t offset;
    unsigned bits; ///< 1 for predicates
  };
  struct Frame {
    const Function *function;
    unsigned id;
    std::string returnLabel;
    std::map<std::string, Place> args;
  };

  void layoutShared(const Function &f);
  void collectShared(const Function &f, std::vector<const Variable *> &out, std::set<std::string> &seen);
  void function(const Function &f, Frame frame);
  void statement(const Stmt &s);
  void call(const Stmt &s);
  void multiwayBranch(const Stmt &s);
  const Reg &reg(const std::string &name);
  bool isRegister(const std::string &name, std::string *type);
  bool special(const std::string &name, uint32_t &offset, unsigned &bits);
  uint32_t allocate(unsigned bytes);
  std::string labelName(const std::string &name) const;
  void finish(const Function &f);
  /// Notes that the next instruction reads or writes a register.
  uint32_t note(uint32_t offset, bool isDst, unsigned bits);

  const ModuleSyntax &syntax;
  Module &module;
  std::unique_ptr<Kernel> result;
  const Stmt *current = nullptr;
  std::vector<Frame> frames;
  unsigned nextFrame = 0;
  size_t inlined = 0;
  uint16_t falsePred = 0;
  std::map<std::string, Reg> regs;
  std::map<std::pair<uint64_t, bool>, uint32_t> constants;
  std::map<std::string, uint32_t> specials;
  std::map<std::string, Place> sharedPlaces, locals;
  std::map<std::string, uint32_t> labels;
  std::vector<std::pair<uint32_t, std::string>> fixups;
  std::vector<RegisterUse> uses;
};

// Each returns false if the opcode is not of its family.
bool decodeInteger(Decoder &d, const Stmt &s);
bool decodeCarry(Decoder &d, const Stmt &s);
bool decodeBits(Decoder &d, const Stmt &s);
bool decodeFloat(Decoder &d, const Stmt &s);
bool decodeHalf(Decoder &d, const Stmt &s);
bool decodeCompare(Decoder &d, const Stmt &s);
bool decodeMove(Decoder &d, const Stmt &s);
bool decodeConvert(Decoder &d, const Stmt &s);
bool decodeMemory(Decoder &d, const Stmt &s);
bool decodeAtomic(Decoder &d, const Stmt &s);
bool decodeAsync(Decoder &d, const Stmt &s);
bool decodeMatrix(Decoder &d, const Stmt &s);
bool decodeMBarrier(Decoder &d, const Stmt &s);
bool decodeBulk(Decoder &d, const Stmt &s);
bool decodeWgmma(Decoder &d, const Stmt &s);
bool decodeShuffle(Decoder &d, const Stmt &s);
bool decodeControl(Decoder &d, const Stmt &s);

Handler handlerLabel();
Handler handlerExit();
Handler handlerJump();
Handler handlerBranchIndexed();

} // namespace gpusim

#endif // GPUSIM_PTX_DECODER_H
