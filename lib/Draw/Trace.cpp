// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chrome trace events, as the run-time library writes them.
#include "ringconv/Draw/Draw.h"

#include "llvm/Support/JSON.h"
#include <algorithm>

using namespace ringconv;
using namespace ringconv::draw;

static Event readEvent(const llvm::json::Object &object) {
  Event event;
  event.name = object.getString("name").value_or("").str();
  event.kind = object.getString("cat").value_or("").str();
  event.rank = object.getInteger("tid").value_or(0);
  event.begin = object.getNumber("ts").value_or(0);
  event.duration = object.getNumber("dur").value_or(0);
  if (const llvm::json::Object *args = object.getObject("args"))
    event.id = args->getInteger("id").value_or(-1);
  return event;
}

std::optional<std::vector<Event>> draw::readTrace(llvm::StringRef json, std::string &error) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value) {
    error = llvm::toString(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *array = object ? object->getArray("traceEvents") : nullptr;
  if (!array) {
    error = "expected an object with \"traceEvents\"";
    return std::nullopt;
  }
  std::vector<Event> events;
  for (const llvm::json::Value &entry : *array)
    if (const llvm::json::Object *fields = entry.getAsObject(); fields && fields->getString("ph") == "X")
      events.push_back(readEvent(*fields));
  double first = events.empty() ? 0 : events.front().begin;
  for (const Event &event : events)
    first = std::min(first, event.begin);
  for (Event &event : events)
    event.begin -= first;
  return events;
}
