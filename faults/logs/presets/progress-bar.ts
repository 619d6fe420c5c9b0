/** Progress bars of tqdm: `10%|█         | 100/1000 [01:23<12:34,  1.20it/s]`. */

/** From the percentage on, without what follows the rate. Another line may follow at once, without a line break. */
export const bar =
  String.raw`\d{1,3}%(?:\|[^|]{0,500}\|)? {0,4}(?<step>\d{1,12})\/(?<total>\d{1,12}) \[` +
  String.raw`[\d:?]{1,12}<[\d:?]{1,12}, {0,6}(?:(?<seconds>\d{1,9}(?:\.\d{1,6})?)s\/it|(?<perSecond>\d{1,9}(?:\.\d{1,6})?)it\/s)?`;

/** Of torchrun (`--tee`), where it writes the logs of several processes. */
export const rankPrefix = String.raw`(?:\[[a-z]{1,16}\d{1,6}\]: ?)?`;
