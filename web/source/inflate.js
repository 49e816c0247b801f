// Text that travels in the page as base64 of gzip.

export async function inflateText(base64) {
  const bytes = Uint8Array.from(atob(base64.replace(/\s+/g, "")), (unit) => unit.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
