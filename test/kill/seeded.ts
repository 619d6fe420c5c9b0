/** Random numbers from 0 up to 1, the same for the same seed: a counter with mixed bits (the finaliser of MurmurHash3). */
export function seeded(seed: number): () => number {
  let counter = seed >>> 0;
  return () => {
    counter = (counter + 0x9e37_79b9) >>> 0;
    let bits = Math.imul(counter ^ (counter >>> 16), 0x85eb_ca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}
