// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communicators of the simulated NCCL. Every pair of ranks shares one socket,
// whether the ranks are threads, processes or on several machines.
#ifndef GPUSIM_NCCL_COMM_H
#define GPUSIM_NCCL_COMM_H

#include "gpusim/NCCL.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace gpusim {

/// One message of an exchange. `what` and `bytes` travel ahead of the data,
/// and the receiver compares them with what it expects.
struct Message {
  int peer = 0;
  uint8_t *data = nullptr; ///< host address
  uint64_t bytes = 0;
  uint32_t what = 0;      ///< kind of operation and element type
  CUdeviceptr device = 0; ///< 0: host memory, all of it written
};

enum class Kind : uint32_t { Point, AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, AlltoAll, Split };
const char *kindName(Kind k);
inline uint32_t whatOf(Kind k, int type) { return (uint32_t)k << 8 | type; }

struct ReduceOp {
  int op = 0;
  bool premul = false;
  double scalar = 1;
};

/// Where a rank listens.
struct Address {
  sockaddr_storage data{};
  socklen_t length = 0;
};
/// Where this rank listens while the others connect, and where they do.
struct Door {
  int listener = -1;
  std::vector<Address> ranks; ///< empty: to be found out
  bool isOpen() const { return listener >= 0; }
  void shut();
};
/// Listens at a free port of this machine; `port` in the order of the network.
Door openDoor(int family, int size, uint16_t &port);
/// The machine at the other end of a connection, another port.
Address peerAddress(int socket, uint16_t port);
/// Whether it is host:port.
bool isAddress(const std::string &text);

/// One call of the interface.
struct Call {
  Kind kind = Kind::Point;
  bool isSend = false;
  const void *send = nullptr;
  void *recv = nullptr;
  uint64_t count = 0;
  int type = 0, peer = 0;
  ReduceOp op;
  CUstream stream = nullptr;
};

} // namespace gpusim

struct ncclComm {
  int rank = 0, size = 0, device = 0;
  std::string token;
  CUcontext context = nullptr;
  gpusim::Door door;
  std::vector<int> sockets; ///< by peer; -1 for this rank
  std::atomic<int> error{0};
  std::atomic<bool> aborted{false};
  // Operations run in the order in which they were issued.
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t issued = 0, served = 0;
  bool busy = false;
  unsigned splits = 0;
  std::vector<gpusim::ReduceOp> customOps;

  /// Of the sockets; there are peers.
  int family() const { return gpusim::peerAddress(sockets[rank ? 0 : 1], 0).data.ss_family; }
  ncclResult_t connect();
  void disconnect();
  void fail(int code, const std::string &text);
  std::string name() const;
  /// Sends and receives everything, in any order between peers and in the
  /// given order for one peer. False after an error, which is noted.
  bool exchange(const std::vector<gpusim::Message> &sends, const std::vector<gpusim::Message> &receives);
  bool run(const gpusim::Call &c);
};

namespace gpusim {

unsigned typeBytes(int type);
/// into[i] = into[i] op from[i]; `last` divides for an average of n.
void reduceInto(uint8_t *into, const uint8_t *from, uint64_t count, int type, const ReduceOp &op);
void finishReduce(uint8_t *data, uint64_t count, int type, const ReduceOp &op, int ranks);
void scaleInput(uint8_t *data, uint64_t count, int type, const ReduceOp &op);
double timeoutSeconds();

struct Deadline {
  using Time = std::chrono::steady_clock;
  Time::time_point end = Time::now() + std::chrono::microseconds((int64_t)(timeoutSeconds() * 1e6));
  bool over() const { return Time::now() > end; }
};

} // namespace gpusim

#endif // GPUSIM_NCCL_COMM_H
