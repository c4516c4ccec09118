/** Formats a one-line text so that YAML reads it back unchanged. */
export function quoteYamlText(text: string): string {
  return PLAIN.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text);
}

const PLAIN = /^[A-Za-z][\w./-]*$/;
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
