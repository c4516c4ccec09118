/** Takes the text of an event stream as it comes and gives the data of each event; a line of more than `maxChars` is left out. */
export function createEventData(maxChars: number, take: (data: string) => void): (text: string) => void {
  let line = '';
  let isTooLong = false;
  const add = (more: string): void => {
    isTooLong ||= line.length + more.length > maxChars;
    line = isTooLong ? '' : line + more;
  };
  return (text) => {
    const [first = '', ...rest] = text.split('\n');
    add(first);
    for (const next of rest) {
      if (!isTooLong && line.startsWith(PREFIX)) take(line.slice(PREFIX.length));
      [line, isTooLong] = ['', false];
      add(next);
    }
  };
}

const PREFIX = 'data:';
