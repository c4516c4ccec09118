/** A greeting for a name. */
export function greet(name) {
  return `Hello, ${name}!`;
}
