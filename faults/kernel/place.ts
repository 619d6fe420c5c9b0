/** Where on its device a fault happened: errors that return at one place mean the hardware there, errors all over mean the program. */

/** Undefined where the driver says nothing about it. */
export function placeOf({ code, message }: { readonly code: string; readonly message: string }): string | undefined {
  const text = message.slice(0, 300);
  if (code === 'xid/13') {
    const [, gpc, tpc] = /\(GPC (\d{1,3}), TPC (\d{1,3})\b/i.exec(text) ?? [];
    return gpc === undefined ? undefined : `GPC ${gpc} TPC ${tpc}`;
  }
  const isOfLink = code === 'xid/74' || code.startsWith('sxid/') || /^xid\/1(?:4[4-9]|50)$/.test(code);
  const [, link] = (isOfLink ? /\blink (\d{1,3})\b/i.exec(text) : null) ?? [];
  return link === undefined ? undefined : `link ${Number(link)}`;
}
