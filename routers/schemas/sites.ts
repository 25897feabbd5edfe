import { z } from 'zod';
import type { SiteRow } from '../../src/services/clients/sites.ts';
import { Text } from './fields.ts';

export const SiteView = z.object({ id: z.int(), domain: z.string(), name: z.string() });

export const siteView = (site: SiteRow): z.input<typeof SiteView> => ({
  id: site.id,
  domain: site.domain,
  name: site.name,
});

/** A host name or address, optionally with a port. Stored in lower case, because hosts are compared by it. */
export const Domain = Text(255)
  .toLowerCase()
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/, 'Must be a host name, optionally with a port.');
