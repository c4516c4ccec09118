/** A text of any source as a sentence that another one can follow: it ends in a mark that ends a sentence. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?…:][)"'”’]*$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
