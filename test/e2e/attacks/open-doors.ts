/** Attacks that still come through, by what they do, and why. A row that is closed fails until its line here is gone. */
export const openDoors: Readonly<Record<string, string>> = {};
