/** The first PCI address in a text as `dddd:bb:dd`, lower case, domain 0000 where none is written; null when there is none. */
export function parsePciAddress(text: string): string | null {
  const match =
    /(?<![0-9a-f:])(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.[0-7])?(?![0-9a-f:]{0,40}[0-9a-f])/i.exec(
      text.replace(/PCI:/gi, ' ').slice(0, 500),
    );
  if (!match) return null;
  const domain = (match[1] ?? '0000').replace(/^0+(?=[0-9a-f]{4})/i, '');
  return `${domain}:${match[2]}:${match[3]}`.toLowerCase();
}
