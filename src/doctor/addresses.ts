/** Whether only this machine reaches the host. An IPv6 address may be in brackets, as in a URL. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);
