import{modules as o}from"./83702.shared.js";import{modules as s}from"./74974.shared.js";const t=6191,d=[6191],m={...o,...s};export{t as id,d as ids,m as modules};
