import { Tabs } from '@mantine/core';
import { useMediaQuery, useViewportSize } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import classes from './screen-tabs.module.css';

export type ScreenTab<T extends string> = {
  value: T;
  label: string;
  panel: ReactNode;
  /** Whether typed text is kept while another tab is shown. A tab is not rendered before it is shown. */
  isKept?: boolean;
};

type Props<T extends string> = {
  /** The accessible name of the tabs. */
  label: string;
  value: T;
  tabs: readonly ScreenTab<T>[];
  onShow: (value: T) => void;
  /** Whether the tabs are a list at the left, where the window is wide enough. */
  isList?: boolean;
  /** Above the panel. */
  children?: ReactNode;
};

/** Where a list of tabs and a panel fit next to each other. */
const WIDE = '(width >= 62em)';

/** The parts of a screen. The address contains the current one. */
export const ScreenTabs = <T extends string>({
  label,
  value,
  tabs,
  onShow,
  isList = false,
  children,
}: Props<T>) => {
  const list = useScrolledTo(value);
  const isWide = useMediaQuery(WIDE, false, { getInitialValueInEffect: false }) && isList;
  const [shown, setShown] = useState<readonly T[]>([value]);
  if (!shown.includes(value)) setShown([...shown, value]);
  return (
    <Tabs
      value={value}
      onChange={(chosen) => {
        const tab = tabs.find((one) => one.value === chosen);
        if (tab) onShow(tab.value);
      }}
      keepMounted={false}
      keepMountedMode="display-none"
      orientation={isWide ? 'vertical' : 'horizontal'}
      {...(isWide && { className: classes.wide })}
    >
      <Tabs.List ref={list} {...(!isWide && { mb: 'md', className: classes.list })} aria-label={label}>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.value} value={tab.value}>
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {children}
      {tabs.map((tab) => (
        <Tabs.Panel
          key={tab.value}
          value={tab.value}
          keepMounted={tab.isKept === true && shown.includes(tab.value)}
        >
          {tab.panel}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
};

/** Scrolls the list sideways to the current tab, which may be out of sight on phones. */
const useScrolledTo = (value: string) => {
  const list = useRef<HTMLDivElement>(null);
  const { width } = useViewportSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the value decides which tab is marked, the width what is in sight
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[data-active]');
    if (list.current && tab)
      list.current.scrollLeft = tab.offsetLeft - (list.current.clientWidth - tab.offsetWidth) / 2;
  }, [value, width]);
  return list;
};
