/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Transport between ranks that are threads of one process.
 *
 * A message is an envelope that the sender pushes onto its receiver's inbox;
 * at its wait the receiver copies straight from the sender's memory to the
 * destination and marks the envelope done, for which the sender's wait looks.
 *
 *   sender                         receiver
 *   post: push envelope ---------> inbox (a stack, compare and swap)
 *         ring the bell ---------> (sleeps on its bell when nothing comes)
 *                                  wait: take the inbox, claim the envelope,
 *                                  copy, mark it done
 *   wait: sees done   <----------- ring the bell
 *
 * An envelope is posted, claimed, done in this order. A sender that ends with
 * an error withdraws what nobody has claimed and waits for the claimed, so that
 * no peer reads memory which the caller frees next.
 */
#ifndef RINGCONV_HOST_THREADS_H
#define RINGCONV_HOST_THREADS_H

#include "host/Channel.h"

/* Joins the channel of this rank's next session; sets context->transport. */
int32_t rcrt_threads_open(ringconv_context *context, ringconv_team *team, int64_t rank);
extern const rcrt_transport rcrt_threads;

/* The position that failed first, the cause of all other failures; -1: none. */
int64_t rcrt_threads_first_failed(const ringconv_context *context);
rcrt_channel *rcrt_threads_channel(const ringconv_context *context);

#endif
