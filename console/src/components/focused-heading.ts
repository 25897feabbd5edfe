import { useRouterState } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef } from 'react';

/**
 * Focuses the heading of a screen after a navigation within the console: otherwise, screen readers would start at the top, silently. After
 * a reload, the browser announces the title. The focus stays in a dialog that was opened before the screen arrived.
 * @param field what the screen is opened for: has the focus instead of the heading
 */
export const useFocusedHeading = (field?: RefObject<HTMLElement | null>) => {
  const heading = useRef<HTMLHeadingElement>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const isFirst = useRouterState({ select: ({ location }) => location.state.__TSR_index === 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each screen
  useEffect(() => {
    const isInDialog = document.activeElement?.closest('[role="dialog"]') != null;
    if (!isFirst && !isInDialog) (field ?? heading).current?.focus({ preventScroll: true });
  }, [pathname]);
  return heading;
};
