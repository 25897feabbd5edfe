type Addressed = { app_id: string; app_slug: string; launch_url: string };

/**
 * Where an app opens: its own `launch_url`, or else the address that APP_URL makes.
 * @param template with `{slug}` or `{id}`
 */
export const appAddress = ({ app_id, app_slug, launch_url }: Addressed, template: string): string =>
  launch_url === '' ? template.replaceAll('{slug}', app_slug).replaceAll('{id}', app_id) : launch_url;

/** Adds a code to the query of an address. A path of Steward itself needs none. */
export const withLaunchCode = async (address: string, createCode: () => Promise<string>): Promise<string> => {
  const url = URL.parse(address);
  if (url === null) return address;
  const code = await createCode();
  url.search = url.search === '' ? `?code=${code}` : `${url.search}&code=${code}`;
  return url.href;
};
