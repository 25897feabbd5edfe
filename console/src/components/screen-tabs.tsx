import { Tabs } from '@mantine/core';
import { useViewportSize } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
import classes from './screen-tabs.module.css';

export type ScreenTab<T extends string> = {
  value: T;
  label: string;
  panel: ReactNode;
  /** Whether typed text is kept while another tab is shown. */
  isKept?: boolean;
};

type Props<T extends string> = {
  /** The accessible name of the tabs. */
  label: string;
  value: T;
  tabs: readonly ScreenTab<T>[];
  onShow: (value: T) => void;
  /** Above the panel. */
  children?: ReactNode;
};

/** The parts of a screen. The address contains the current one. */
export const ScreenTabs = <T extends string>({ label, value, tabs, onShow, children }: Props<T>) => {
  const list = useScrolledTo(value);
  return (
    <Tabs
      value={value}
      onChange={(chosen) => {
        const tab = tabs.find((one) => one.value === chosen);
        if (tab) onShow(tab.value);
      }}
      keepMounted={false}
      keepMountedMode="display-none"
    >
      <Tabs.List ref={list} mb="md" className={classes.list} aria-label={label}>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab.value} value={tab.value}>
            {tab.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {children}
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.value} value={tab.value} keepMounted={tab.isKept === true}>
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
