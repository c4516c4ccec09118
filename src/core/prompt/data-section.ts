/** Text between two marker lines; the marker is chosen so that the text does not hold it. */
export function dataSection(label: string, text: string): string {
  const upper = text.toUpperCase();
  let number = 1;
  while (upper.includes(`${label}-${number}`)) number += 1;
  const marker = `${label}-${number}`;
  return `<<<<< BEGIN ${marker}\n${text}\n>>>>> END ${marker}`;
}
