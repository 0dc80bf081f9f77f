// Writes the document out, in a world of its own whose functions the page cannot have changed.
(max) => {
	const root = document.documentElement;
	let html = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
	if (root) {
		const shell = root.cloneNode(false).outerHTML; // <html …></html>, or <svg …></svg>
		const end = shell.lastIndexOf("</");
		html += shell.slice(0, end) + root.getHTML({ serializableShadowRoots: true }) + shell.slice(end);
	}
	return { html: html.slice(0, max), whole: html.length <= max, url: document.URL };
}
