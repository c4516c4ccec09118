/** Whether a user's rules allow the tool that searches on the provider's servers. */
export function allowsWebSearch(rules: readonly string[]): boolean {
  return rules.some((rule) => /^WebSearch(?:\(|$)/.test(rule));
}
