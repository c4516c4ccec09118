/** A text on one line as YAML reads it back. */
export function yamlText(text: string): string {
  return PLAIN.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text);
}

const PLAIN = /^[A-Za-z][\w./-]*$/;
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
