import { parseDocument } from 'yaml';

/** YAML as plain data, or the place and the reason for which it cannot be read, as a sentence. */
type ParsedYaml =
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Maximum length of a document; GitHub accepts workflow files of up to 500 KB. */
const MAX_CHARS = 512 * 1024;

/** Parses one YAML document; never throws. */
export function parseYaml(text: string): ParsedYaml {
  return parseAs(text, { schema: 'core', maxAliasCount: 100 });
}

/** Parses one YAML document without aliases and returns every scalar as it is written, such as `1.10`; never throws. */
export function parseYamlTexts(text: string): ParsedYaml {
  return parseAs(text, { schema: 'failsafe', maxAliasCount: 0 });
}

function parseAs(
  text: string,
  { schema, maxAliasCount }: { readonly schema: 'core' | 'failsafe'; readonly maxAliasCount: number },
): ParsedYaml {
  if (text.length > MAX_CHARS) return { kind: 'unreadable', why: 'it is longer than GitHub allows.' };
  try {
    const document = parseDocument(text, { prettyErrors: false, schema });
    const [error] = document.errors;
    if (error === undefined) return { kind: 'data', data: document.toJS({ maxAliasCount }) as unknown };
    const line = text.slice(0, error.pos[0]).split('\n').length;
    const why = error.code === 'MULTIPLE_DOCS' ? 'a second document begins: write one only.' : error.message;
    return { kind: 'unreadable', why: `line ${String(line)}: ${why}` };
  } catch (error) {
    // The library throws for aliases: for every alias if `maxAliasCount` is 0, otherwise for those that multiply
    // without end.
    if (maxAliasCount === 0) return { kind: 'unreadable', why: 'put a value that begins with `*` in quotes.' };
    return { kind: 'unreadable', why: error instanceof Error ? error.message : 'it is not YAML.' };
  }
}
