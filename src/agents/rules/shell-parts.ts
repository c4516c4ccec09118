/** What a shell command is made of, as far as it can be known without running a shell. */
export type ShellParts =
  /** Simple commands; `compound`: more than one, a redirection, or several lines. */
  | { readonly kind: 'parts'; readonly parts: readonly string[]; readonly compound: boolean }
  /** Substitutions, groups, here-documents, background jobs, redirections to files: not judged. */
  | { readonly kind: 'opaque' };

const MAX_CHARS = 10_000;
const opaque: ShellParts = { kind: 'opaque' };
const HARMLESS_REDIRECTION = /^(?:2>&1|1>&2|>&2|&>\s*\/dev\/null|[12]?>\s*\/dev\/null|<\s*\/dev\/null)(?=\s|[;&|\n]|$)/;
/** Goes on in the next line; not in a comment. */
const CONTINUATION = '\\\n';
const SEPARATOR = /^(?:&&|\|\||;|\||\n)/;

/** Splits a command line at `&&`, `||`, `;`, `|` and line ends outside quotes, without its comments; whatever is not plainly understood is opaque. */
export function shellParts(command: string): ShellParts {
  if (command.length > MAX_CHARS) return opaque;
  const text = command.replaceAll('\r\n', '\n').trim();
  const parts: string[] = [];
  let part = '';
  let compound = text.replaceAll(CONTINUATION, '').includes('\n');
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at, at + 64);
    const operator = SEPARATOR.exec(rest)?.[0];
    const redirection = HARMLESS_REDIRECTION.exec(rest)?.[0];
    const quoted = quotedText(text, at);
    if (operator !== undefined) {
      parts.push(part);
      part = '';
      compound = true;
      at += operator.length;
    } else if (redirection !== undefined) {
      compound = true;
      at += redirection.length;
    } else if (rest.startsWith(CONTINUATION)) {
      at += CONTINUATION.length;
    } else if (rest.startsWith('#') && /(?:^|\s)$/.test(part)) {
      // A comment ends with its line, whatever that ends with.
      const lineEnd = text.indexOf('\n', at);
      at = lineEnd === -1 ? text.length : lineEnd;
    } else if (quoted !== null) {
      part += quoted;
      at += quoted.length;
    } else if (/[`$(){}<>&'"\\#!]/.test(text.charAt(at))) {
      return opaque;
    } else {
      part += text.charAt(at);
      at += 1;
    }
  }
  const named = [...parts, part].map((piece) => piece.trim()).filter((piece) => piece !== '');
  return { kind: 'parts', parts: named, compound };
}

/** The quoted string that starts at `at`, quotes included; null when there is none, or a shell would change it. */
function quotedText(text: string, at: number): string | null {
  const quote = text.charAt(at);
  if (quote !== "'" && quote !== '"') return null;
  const end = text.indexOf(quote, at + 1);
  if (end === -1) return null;
  const quoted = text.slice(at, end + 1);
  return quote === '"' && /[$`\\]/.test(quoted) ? null : quoted;
}
