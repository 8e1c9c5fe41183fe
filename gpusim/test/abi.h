// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two function types are alike for callers if their parameters have the same
// number, sizes and kinds (pointer, number, structure). Names of enumerations
// and of what pointers point to do not matter.
#ifndef GPUSIM_TEST_ABI_H
#define GPUSIM_TEST_ABI_H

#include <type_traits>

template <class A, class B> constexpr bool alike() {
  constexpr bool number = std::is_integral_v<A> || std::is_enum_v<A>;
  constexpr bool number2 = std::is_integral_v<B> || std::is_enum_v<B>;
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else
    return sizeof(A) == sizeof(B) && number == number2 && std::is_pointer_v<A> == std::is_pointer_v<B> &&
           std::is_class_v<A> == std::is_class_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}
template <class A, class B> struct Same : std::false_type {};
template <class R, class... A, class S, class... B> struct Same<R(A...), S(B...)> {
  template <class...> struct List {};
  static constexpr bool check() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return (alike<A, B>() && ... && alike<R, S>());
  }
  static constexpr bool value = check();
};

#endif // GPUSIM_TEST_ABI_H
