import { lazyRouteComponent } from '@tanstack/react-router';
import { queryClient, sessionQuery } from './api.ts';

/**
 * A screen, or a part of one, that is loaded when it is first shown. If that fails although the service answers, the service has a newer console, and the router
 * reloads the page. If the service does not answer, a reload would replace the console by an error page of the browser, so the failed call
 * is reported instead.
 */
export const lazyPart = <Module extends Record<string, unknown>, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(
    () =>
      load().catch(async (error: unknown) => {
        await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0, retry: false });
        throw error;
      }),
    name,
  );
