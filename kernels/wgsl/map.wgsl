fn item_at(e: u32) -> {{type}} {
{{index}}{{body}}        return {{result}};
}
