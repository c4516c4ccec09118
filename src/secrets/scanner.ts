import { createHash } from 'node:crypto';
import { findKeyPatterns } from '../core/text/redact.ts';

/** A scanner that finds keys by their well-known patterns. */
export interface SecretScanner {
  /** Returns the names of the rules that `text` breaks, one per place, such as `github`; never the keys themselves. */
  scan(text: string): Promise<readonly string[]>;
}

/** Maximum number of texts whose findings are remembered. */
const MAX_CACHED_SCANS = 5_000;

/**
 * Creates a scanner with secretlint's recommended rules and the log's own patterns; the library is loaded at the first
 * scan.
 */
export function createSecretScanner(): SecretScanner {
  let loading: ReturnType<typeof loadRules> | null = null;
  /** The findings by hash, because a text is scanned when it is committed and again when it leaves. */
  const known = new Map<string, Promise<readonly string[]>>();
  return {
    scan(text) {
      const hash = createHash('sha256').update(text).digest('base64');
      const found = known.get(hash) ?? scan(text);
      if (known.size >= MAX_CACHED_SCANS) known.clear();
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
    return [...keys, ...surplusNames(findKeyPatterns(text), keys)];
  }
}

/** Removes from `names` each name in `others` once, so that a key which both rule sets found is counted only once. */
function surplusNames(names: readonly string[], others: readonly string[]): readonly string[] {
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
  // Disable the profiler, which keeps a hundred marks of each scan forever and searches all of them each time: a
  // thousand files would take minutes.
  secretLintProfiler.mark = () => undefined;
  // Leave out the rule that lets the text itself switch off the others ("secretlint-disable").
  const honest = rules.filter((rule) => rule.meta.id !== '@secretlint/secretlint-rule-filter-comments');
  return { lintSource, rules: honest.map((rule) => ({ id: rule.meta.id, rule })) };
}

/**
 * Finds private keys that secretlint mistakes for placeholders: Ed25519 keys (one line), encrypted keys, and keys with
 * header lines.
 */
function shortPrivateKeys(text: string): readonly string[] {
  const keys =
    text.match(
      /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z-]+: [^\n]*\n)*[A-Za-z0-9+/=]{40}/g,
    ) ?? [];
  return keys.map(() => 'privatekey');
}
