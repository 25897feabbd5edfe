import type { NextConfig } from 'next';

const steward = process.env.STEWARD_URL ?? 'http://localhost:8000';

/** The browser sees one origin, so that it sends the session cookie. */
const config: NextConfig = {
  // Paths of Steward end with a slash.
  skipTrailingSlashRedirect: true,
  rewrites: async () =>
    ['/api/v1/:path*', '/trpc/:path*'].map((source) => ({ source, destination: steward + source })),
};

export default config;
