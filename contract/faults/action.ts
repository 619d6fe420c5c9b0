/** What the vendor of a device, or a site's own table, says to do about a code. */
export const actions = ['ignore', 'restart-app', 'reset-gpu', 'reboot', 'contact-support'] as const;
export type Action = (typeof actions)[number];
