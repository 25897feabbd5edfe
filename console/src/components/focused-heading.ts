import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/**
 * For the heading of a screen: it gets the focus if another screen of the console led here, because screen readers would otherwise start
 * at the top, silently. After a reload, the browser says the title.
 */
export const useFocusedHeading = () => {
  const heading = useRef<HTMLHeadingElement>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const isFirst = useRouterState({ select: ({ location }) => location.state.__TSR_index === 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each screen
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true });
  }, [pathname]);
  return heading;
};
