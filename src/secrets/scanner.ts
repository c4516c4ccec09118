import { createHash } from 'node:crypto';
import { keysByPattern } from '../core/secrets/key-patterns.ts';

/** Finds keys by their well-known patterns. */
export interface SecretScanner {
  /** The rules that `text` breaks, one entry per place, e.g. `github`; never what was found. */
  scan(text: string): Promise<readonly string[]>;
}

/** Texts whose findings are remembered, at most. */
const MOST_KNOWN = 5_000;

/** A scanner with secretlint's recommended rules and the log's own patterns; the library is loaded at the first scan. */
export function createSecretScanner(): SecretScanner {
  let loading: ReturnType<typeof loadRules> | null = null;
  /** By hash: a text is scanned when it is committed, and once more when it leaves. */
  const known = new Map<string, Promise<readonly string[]>>();
  return {
    scan(text) {
      const hash = createHash('sha256').update(text).digest('base64');
      const found = known.get(hash) ?? scan(text);
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(hash, found);
      return found;
    },
  };

  async function scan(text: string): Promise<readonly string[]> {
    loading ??= loadRules();
    const { lintSource, rules } = await loading;
    const { messages } = await lintSource({
      source: { filePath: 'text', content: text, contentType: 'text' },
      options: { noPhysicFilePath: true, maskSecrets: true, config: { rules: [...rules] } },
    });
    const found = messages.map((message) => message.ruleId.replace(/^@secretlint\/secretlint-rule-/, ''));
    const keys = found.includes('privatekey') ? found : [...found, ...shortPrivateKeys(text)];
    return [...keys, ...beyond(keysByPattern(text), keys)];
  }
}

/** Names that `names` has more often than `others`: what both know is named once. */
function beyond(names: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return names.filter((name) => {
    const known = left.indexOf(name);
    if (known !== -1) left.splice(known, 1);
    return known === -1;
  });
}

async function loadRules() {
  const [{ lintSource }, { rules }, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ]);
  // It keeps a hundred marks of each scan for ever and searches them all at each: a thousand files would take minutes.
  secretLintProfiler.mark = () => undefined;
  // One rule lets the text itself switch the others off ("secretlint-disable"); the text is not to be asked.
  const honest = rules.filter((rule) => rule.meta.id !== '@secretlint/secretlint-rule-filter-comments');
  return { lintSource, rules: honest.map((rule) => ({ id: rule.meta.id, rule })) };
}

/** Keys that secretlint takes for placeholders: Ed25519 (one line), encrypted ones, those with header lines. */
function shortPrivateKeys(text: string): readonly string[] {
  const keys =
    text.match(
      /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z-]+: [^\n]*\n)*[A-Za-z0-9+/=]{40}/g,
    ) ?? [];
  return keys.map(() => 'privatekey');
}
