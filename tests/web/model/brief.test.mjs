import assert from "node:assert/strict";
import { test } from "node:test";
import { briefName, nativeName } from "../../../web/model/profile/brief.js";

test("long names lose their arguments, and nothing else", () => {
  const cases = [
    ["torch::autograd::python::PythonEngine::execute(std::vector<Edge, std::allocator<Edge> > const&, bool)",
      "torch::autograd::python::PythonEngine::execute(…)"],
    ["void at::native::vectorized_loop<at::native::add<float>, 4>(char**, long) const",
      "void at::native::vectorized_loop<…>(…) const"],
    ["at::(anonymous namespace)::structured_sum_out_functional::impl(at::Tensor const&)",
      "at::(anonymous namespace)::structured_sum_out_functional::impl(…)"],
    ["std::ostream& at::operator<< <std::vector<long> >(std::ostream&, std::vector<long> const&)",
      "std::ostream& at::operator<< <…>(…)"],
    ["bool std::operator< <char, std::char_traits<char> >(std::string const&, std::string const&)",
      "bool std::operator< <…>(…)"],
    ["at::parallel_for(long, long)::{lambda(int)#1}::operator()(int) const [clone ._omp_fn.0]",
      "at::parallel_for(…)::{lambda(int)#1}::operator()(int) const [clone ._omp_fn.0]"],
    ["<polars_core::chunked_array::ChunkedArray<T> as core::iter::Iterator<Item>>::next_chunk",
      "<polars_core::chunked_array::ChunkedArray<T> as core::iter::Iterator<…>>::next_chunk"],
    ["<rayon_core::job::StackJob<rayon_core::latch::SpinLatch, F, R> as rayon_core::job::Job>::execute",
      "<rayon_core::job::StackJob<…> as rayon_core::job::Job>::execute"],
    ["core::ops::function::FnOnce<fn(usize) -> alloc::string::String>::call_once{{vtable.shim}}",
      "core::ops::function::FnOnce<…>::call_once{{vtable.shim}}"],
    ["mypy.checkexpr.ExpressionChecker.check_callable_call_of_overloaded",
      "mypy.checkexpr.ExpressionChecker.check_callable_call_of_overloaded"],
  ];
  for (const [name, brief] of cases) assert.equal(briefName(name), brief);
});

test("short names stay whole", () => {
  for (const name of ["", "f", "std::vector<int, std::allocator<int>>::at(int)", "operator<(A, B)", "<gap>"])
    assert.equal(briefName(name), name);
});

test("what is still long is cut in the middle, between characters", () => {
  const brief = briefName("a::".repeat(60) + "last_part");
  assert.equal(brief.length, 100);
  assert.ok(brief.startsWith("a::a::") && brief.includes("…") && brief.endsWith("::last_part"));
  const wide = briefName("\u{1F600}".repeat(300));
  assert.equal(Array.from(wide).length, 100);
  assert.equal(wide.isWellFormed(), true);
});

test("names that make no sense end, and lose nothing at their ends", () => {
  for (const name of ["<".repeat(3000), "(".repeat(3000), ")>".repeat(2000),
    "f(" + "<(".repeat(1500) + ">".repeat(1500), "operator".repeat(400), "a->".repeat(1000)])
  {
    const brief = briefName(name);
    assert.ok(Array.from(brief).length <= 100, name.slice(0, 20));
    assert.equal(brief[0], name[0]);
  }
});

test("a function without a symbol is its offset beside the library", () => {
  assert.equal(nativeName("<libtorch_cpu.so+0x5e1d960>", "libtorch_cpu.so"), "+0x5e1d960");
  assert.equal(nativeName("<libtorch_cpu.so+0x5e1d960>", "libother.so"), "<libtorch_cpu.so+0x5e1d960>");
  assert.equal(nativeName("<generated code>", "[unknown]"), "<generated code>");
});
