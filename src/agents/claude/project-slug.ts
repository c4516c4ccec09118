/** Name of the folder in which Claude Code (2.1.197 and 2.1.330) keeps the transcripts of `folder`, a path without symbolic links. */
export function projectSlug(folder: string): string {
  const slug = folder.replace(/[^A-Za-z0-9]/g, '-');
  if (slug.length <= 200) return slug;
  let hash = 0;
  for (let index = 0; index < folder.length; index++) hash = (hash * 31 + folder.charCodeAt(index)) | 0;
  return `${slug.slice(0, 200)}-${Math.abs(hash).toString(36)}`;
}
