/** The version in package.json, which the bundle does not carry. */
export const VERSION = '1.0.0';
