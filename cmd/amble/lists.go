package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// words is the value of a flag that takes several words, each with a comma or an occurrence of its own.
type words []string

// Decode implements kong.MapperValue.
func (w *words) Decode(ctx *kong.DecodeContext) error {
	list, err := popList(ctx)
	*w = append(*w, list...)
	return err
}

// prefixes is the value of a flag that takes address ranges. A bare address is a range of one.
type prefixes []netip.Prefix

// Decode implements kong.MapperValue.
func (p *prefixes) Decode(ctx *kong.DecodeContext) error {
	list, err := popList(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		prefix, err := netip.ParsePrefix(s)
		if addr, bare := netip.ParseAddr(s); bare == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q: want an address range such as 10.0.0.0/8 or fd00::/8", s)
		}
		*p = append(*p, prefix.Masked())
	}
	return nil
}

// ports is the value of a flag that takes port numbers.
type ports []uint16

// Decode implements kong.MapperValue.
func (p *ports) Decode(ctx *kong.DecodeContext) error {
	list, err := popList(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			return fmt.Errorf("%q: want a port from 0 to 65535", s)
		}
		*p = append(*p, uint16(n))
	}
	return nil
}

func popList(ctx *kong.DecodeContext) ([]string, error) {
	t, err := ctx.Scan.PopValue("value")
	if err != nil {
		return nil, err
	}
	raw, ok := t.Value.(below)
	if !ok {
		raw = below{fmt.Sprint(t.Value)}
	}
	var list []string
	for _, s := range raw {
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list, nil
}
