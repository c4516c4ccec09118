/** A kind of key with a known form. */
export interface KeyPattern {
  /** The name of the scanner's own rule, if it has one. */
  readonly name: string;
  readonly pattern: RegExp;
}

/**
 * Keys of well-known form, which are hidden in all output and never pushed. Each pattern takes time proportional to the
 * text.
 */
export const keyPatterns: readonly KeyPattern[] = [
  { name: 'anthropic', pattern: /sk-ant-[\w-]{8,}/g },
  { name: 'openai', pattern: /\bsk-(?!ant-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}/g },
  { name: 'github', pattern: /gh[opsur]_[A-Za-z0-9]{16,}/g },
  { name: 'github', pattern: /github_pat_\w{16,}/g },
  { name: 'aws', pattern: /(?:AKIA|ASIA)[A-Z0-9]{16}/g },
  { name: 'slack', pattern: /xox[a-z]-[A-Za-z0-9-]{10,}/g },
  { name: 'slack', pattern: /hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g },
  { name: 'google', pattern: /AIza[\w-]{35}/g },
  { name: 'npm', pattern: /npm_[A-Za-z0-9]{36}/g },
  { name: 'gitlab', pattern: /glpat-[\w-]{20,}/g },
  { name: 'stripe', pattern: /[sr]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}/g },
  { name: 'azure-storage', pattern: /AccountKey=[A-Za-z0-9+/]{86}==/gi },
  { name: 'pypi', pattern: /pypi-AgE[\w-]{50,}/g },
  { name: 'telegram', pattern: /(?<![\w-])\d{8,10}:[\w-]{35}(?![\w-])/g },
  { name: 'sendgrid', pattern: /\bSG\.[\w-]{22}\.[\w-]{43}/g },
  { name: 'shopify', pattern: /shp(?:at|ss|ca|pa)_[A-Fa-f0-9]{32}/g },
  { name: 'linear', pattern: /lin_api_[A-Za-z0-9]{40}/g },
  { name: 'huggingface', pattern: /\bhf_[A-Za-z0-9]{34}/g },
  { name: 'docker', pattern: /dckr_pat_[\w-]{27}/g },
  // The pattern matches only at the start of a word; otherwise it would be tried at each character of a long run.
  { name: 'jwt', pattern: /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g },
];

/** Returns the names of the patterns found in a text, one per key. */
export function findKeyPatterns(text: string): readonly string[] {
  return keyPatterns.flatMap(({ name, pattern }) => (text.match(pattern) ?? []).map(() => name));
}
